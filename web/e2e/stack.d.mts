export declare function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  options?: { within?: number; every?: number },
): Promise<NonNullable<T>>;

export declare function freePort(): Promise<number>;

export interface Stack {
  readonly url: string;
  /** The token of the first admin; it works once. */
  readonly once: string;
  readonly stop: () => Promise<void>;
}

export declare function startStack(options: {
  origins: string[];
  more?: (url: string) => Record<string, string>;
}): Promise<Stack>;
