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
  readonly stack: {
    readonly url: string;
    readonly start: () => Promise<void>;
    readonly kill: () => Promise<void>;
    readonly log: () => string;
    readonly record: (sql: string) => void;
  };
  readonly people: People;
  readonly at: (who: string) => string;
  readonly cut: (who: string, isOn: boolean) => void;
  readonly stop: () => Promise<void>;
}

export declare function startWorld(doors?: string[]): Promise<World>;
