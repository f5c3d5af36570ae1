export declare function eventually<T>(
  what: string,
  ask: () => T | Promise<T>,
  options?: { within?: number; every?: number },
): Promise<NonNullable<T>>;
