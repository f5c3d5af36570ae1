import { Refused } from '@/api/problem';

/** What to say when an order was refused, or when nobody knows. */
export function told(error: unknown): string {
  if (!(error instanceof Refused))
    return 'No answer came. The page shows what is true in a moment.';
  return `${error.problem.title}. ${error.problem.next_action.says}`;
}
