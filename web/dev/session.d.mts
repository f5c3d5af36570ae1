import type { Plugin } from 'vite';

export declare function sessionsOf(server: string, token: string | undefined): Plugin;
