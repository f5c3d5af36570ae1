import type { Known } from './seed.mjs';
import type { Stack } from './stack.mjs';

export interface Person {
  readonly id: string;
  readonly name: string;
  readonly token: string;
  readonly call: <T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<T>;
}

export interface People {
  readonly admin: Person;
  readonly priya: Person;
  readonly lena: Person;
  readonly marc: Person;
  readonly bob: Person;
  readonly sam: Person;
  readonly bots: Record<string, Person>;
}

export interface World {
  readonly stack: Stack;
  readonly people: People;
  readonly issuer: string;
  /** Public address of the server. */
  readonly home: string;
  /** While `isOn`, closes all open sockets and refuses new ones. */
  readonly cut: (isOn: boolean) => void;
  readonly stop: () => Promise<void>;
}

export declare function startWorld(more?: readonly Known[]): Promise<World>;
