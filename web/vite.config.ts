import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const server = process.env.ADE_SERVER_URL ?? 'http://127.0.0.1:7700';
/** Requests that are not pages go to the server, as with embedded pages. */
const proxy = { '/v1': { target: server, ws: true }, '/auth/': { target: server } };
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Sonner inserts its styles as a style element, which the Content Security Policy blocks; this
 *  plugin links them as a style sheet instead. */
function toastsWithoutInlineStyle(): Plugin {
  const call = /^__insertCSS\(".*"\);$/m;
  return {
    name: 'toasts-without-inline-style',
    transform(code, id) {
      if (!/sonner[\\/]dist[\\/]index\.mjs/.test(id)) return null;
      if (!call.test(code)) throw new Error('sonner changed the way it inserts its styles');
      return { code: code.replace(call, ''), map: null };
    },
  };
}

/** The server embeds the files and serves them unchanged; compressible files are stored compressed
 *  next to the original at build time. */
function packed(outDir: string): Plugin {
  return {
    name: 'packed',
    apply: 'build',
    closeBundle() {
      const names = readdirSync(outDir, { recursive: true, encoding: 'utf8' });
      for (const name of names.filter((one) => /\.(js|css|html|svg)$/.test(one))) {
        const path = join(outDir, name);
        const bytes = readFileSync(path);
        if (bytes.length < 1024) continue;
        writeFileSync(`${path}.br`, brotliCompressSync(bytes));
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

/** Preloads the fonts together with the scripts. Otherwise the first page renders with a fallback
 *  font of another width and moves when the fonts arrive. */
function lettersFirst(): Plugin {
  return {
    name: 'letters-first',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_, { bundle }) =>
        Object.keys(bundle ?? {})
          .filter((name) => name.endsWith('.woff2'))
          .map((name) => ({
            tag: 'link',
            attrs: {
              rel: 'preload',
              as: 'font',
              type: 'font/woff2',
              href: `/${name}`,
              crossorigin: '',
            },
            injectTo: 'head',
          })),
    },
  };
}

export default defineConfig(({ mode }) => ({
  plugins: [
    react(),
    tailwindcss(),
    toastsWithoutInlineStyle(),
    lettersFirst(),
    ...(mode === 'stories' ? [] : [packed(at('./target/pages'))]),
  ],
  resolve: { alias: { '@': at('./src') } },
  server: { port: 4700, host: '127.0.0.1', strictPort: true, proxy },
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
