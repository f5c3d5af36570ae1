import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { toggleTheme } from '@/theme/theme';
import { Button } from '@/ui/Button';
import { stories } from './stories';
import '../styles.css';

function Stories() {
  return (
    <main className="mx-auto max-w-[1040px] space-y-10 p-6">
      <header className="flex items-center justify-between">
        <h1 className="text-h1 font-semibold">All states</h1>
        <Button onClick={toggleTheme}>Switch theme</Button>
      </header>
      {stories.map(({ name, show: Show }) => (
        <section key={name} aria-label={name}>
          <h2 className="mb-2 font-mono text-meta text-ink-3">{name}</h2>
          <Show />
        </section>
      ))}
    </main>
  );
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Stories />
  </StrictMode>,
);
