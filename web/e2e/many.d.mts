import type { Stack } from './stack.mjs';
import type { Person } from './world.mjs';

type Record = Pick<Stack, 'record'>;

export declare function copyTask(stack: Record, number: number, count: number): Promise<void>;

export declare function copyAuditEntry(stack: Record, count: number): Promise<void>;

export declare function copyAgent(stack: Record, name: string, count: number): Promise<void>;

export declare function takeLocks(agents: readonly Person[], count: number): Promise<void>;
