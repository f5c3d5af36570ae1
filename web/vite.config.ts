import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';
import { HEADERS, personOf, proxyTo } from './dev/door.mjs';
import { sessionsOf } from './dev/session.mjs';

const port = Number(process.env.ADE_WEB_PORT ?? 4700);
const server = process.env.ADE_SERVER_URL ?? 'http://127.0.0.1:7700';
const person = personOf(port, process.env);
const proxy = proxyTo(server, person);
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Toasts bring their style sheet as a style element, which the policy of the page refuses; it
 *  is linked like any other instead. */
function toastsWithoutInlineStyle(): Plugin {
  const call = /^__insertCSS\(".*"\);$/m;
  return {
    name: 'toasts-without-inline-style',
    transform(code, id) {
      if (!/sonner[\\/]dist[\\/]index\.mjs/.test(id)) return null;
      if (!call.test(code)) throw new Error('sonner inserts its styles in another way now');
      return { code: code.replace(call, ''), map: null };
    },
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [react(), tailwindcss(), toastsWithoutInlineStyle(), sessionsOf(server, person)],
  resolve: { alias: { '@': at('./src') } },
  server: { port, host: '127.0.0.1', strictPort: true, proxy },
  preview: { port, host: '127.0.0.1', strictPort: true, proxy, headers: HEADERS },
  optimizeDeps: { exclude: ['sonner'] },
  build: {
    target: 'es2023',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    manifest: true,
    outDir: mode === 'stories' ? 'target/stories' : 'target/pages',
    rolldownOptions: { input: mode === 'stories' ? at('./stories.html') : at('./index.html') },
  },
  test: { environment: 'happy-dom', include: ['src/**/*.test.{ts,tsx}'] },
}));
