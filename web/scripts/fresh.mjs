// Checks that the generated types match the OpenAPI description.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'ade-types-'));
try {
  const made = join(folder, 'schema.d.ts');
  const flags = ['--alphabetize', '--empty-objects-unknown'];
  execFileSync(
    'npx',
    ['openapi-typescript', '../docs/reference/openapi.json', '-o', made, ...flags],
    {
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const same = readFileSync(made, 'utf8') === readFileSync('src/api/schema.d.ts', 'utf8');
  if (!same) {
    console.error(
      'src/api/schema.d.ts is older than docs/reference/openapi.json: run `npm run gen`',
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
