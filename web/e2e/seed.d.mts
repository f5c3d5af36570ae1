import type { People, Person } from './world.mjs';

export interface Known {
  readonly name: string;
  readonly roles: readonly string[];
  readonly subject: string;
}

export type Who = 'priya' | 'lena' | 'marc' | 'bob' | 'sam';
export declare const PEOPLE: Record<Who, Known>;

export declare function caller(url: string, token: string): Person['call'];

export interface TaskNow {
  readonly id: string;
  readonly number: number;
  readonly revision: number;
  readonly digest: string;
  readonly state: string;
  readonly version: number;
}

type NewTask = Record<string, unknown>;
type NewChange = { action: string; summary: string; [field: string]: unknown };

export declare function agents(
  admin: Person['call'],
  url: string,
  owner: Person,
  names: readonly string[],
): Promise<Record<string, Person>>;
export declare function propose(by: Person, task: NewTask): Promise<TaskNow>;
export declare function amend(by: Person, id: string, change: NewTask): Promise<TaskNow>;
export declare function sql(title: string, text: string, more?: NewTask): NewTask;
export declare function declared(
  title: string,
  type: string,
  resource: string,
  changes: NewChange[],
  more?: NewTask,
): NewTask;
export declare function seedTasks(world: People): Promise<Record<string, TaskNow>>;
