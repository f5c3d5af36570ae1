export interface Stack {
  readonly url: string;
  readonly port: number;
  /** The token of the first admin; it works once. */
  readonly once: string;
  /** Another tenant, and the token of its first admin. */
  readonly tenant: (name: string) => string;
  readonly shop: (sql: string) => Promise<string>;
  readonly record: (sql: string) => Promise<string>;
  readonly log: () => string;
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

export declare function startStack(options?: {
  more?: (url: string) => Record<string, string>;
}): Promise<Stack>;
