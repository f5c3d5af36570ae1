import { toast } from 'sonner';
import { Button } from './Button';
import { classes } from './classes';

/** Secret that is shown once. It exists only in the memory of the page. */
export function Secret({ title, value }: { title: string; value: string }) {
  return (
    <div>
      <h3 className="font-semibold">{title}</h3>
      <code
        data-token
        className={classes(
          'mt-1.5 block rounded-control bg-sunken px-3 py-2',
          'font-mono text-meta wrap-anywhere',
        )}
      >
        {value}
      </code>
      <Button
        size="small"
        className="mt-2"
        onClick={() => void navigator.clipboard.writeText(value).then(() => toast('Copied'))}
      >
        Copy
      </Button>
    </div>
  );
}
