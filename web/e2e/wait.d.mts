import type { ChildProcess } from 'node:child_process';

export declare function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  options?: { within?: number; every?: number },
): Promise<NonNullable<T>>;

export declare function freePort(): Promise<number>;

export declare function gone(child: ChildProcess, signal: NodeJS.Signals): Promise<void>;
