import type { ProxyOptions } from 'vite';
export declare const HEADERS: Record<string, string>;
export declare function proxyTo(server: string, token?: string): Record<string, ProxyOptions>;
export declare function personOf(
  port: number,
  env: Record<string, string | undefined>,
): string | undefined;
