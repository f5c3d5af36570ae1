// One door to the server. Types come from its own description; what it refuses is thrown as
// `Refused`, and what nobody can know the end of as `Unclear`.
import createClient from 'openapi-fetch';
import { confirmed } from '@/confirm/ask';
import { noteSignedOut } from '@/session/expiry';
import { noteServerTime } from '@/time/clock';
import { asProblem, isSignedOut, Refused, stepUpOf, Unclear } from './problem';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** Longer than the server takes for anything, so that its own word comes first. */
const PATIENCE_MS = 20_000;

/** Time for an answer with a new cookie to arrive that left the server before ours. */
const RENEWED_MS = 250;

const SAFE = ['GET', 'HEAD'];

/** Says that this page has sent it, which no form of another page can: the cookie alone would
 *  not tell the two apart. */
function signed(request: Request): Request {
  if (SAFE.includes(request.method)) return request;
  request.headers.set('X-ADE-Request', '1');
  request.headers.set('Content-Type', 'application/json');
  return request;
}

async function sent(request: Request): Promise<Response> {
  let answer: Response;
  try {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(PATIENCE_MS)]);
    answer = await fetch(signed(request), { signal });
  } catch (cause) {
    if (request.signal.aborted) throw cause;
    throw new Unclear('no answer came', { cause });
  }
  noteServerTime(answer.headers.get('date'));
  if (answer.ok) return answer;
  const problem = await asProblem(answer);
  if (!problem) throw new Unclear(`something answered ${answer.status} in the server's place`);
  throw new Refused(problem);
}

/** The word of a passkey, in whichever tab, gives the session another cookie: what was under way
 *  with the one before goes out again, and only then is nobody signed in. */
async function once(request: Request): Promise<Response> {
  // A request can be sent once, so its copy is kept aside.
  const again = request.clone();
  try {
    return await sent(request);
  } catch (error) {
    if (!isSignedOut(error)) throw error;
  }
  await new Promise((resolve) => setTimeout(resolve, RENEWED_MS));
  try {
    return await sent(again);
  } catch (error) {
    if (isSignedOut(error)) noteSignedOut(true);
    throw error;
  }
}

/** What the reader's passkey has to confirm first is asked of it, and goes out again as it was. */
export async function patient(request: Request): Promise<Response> {
  if (SAFE.includes(request.method)) return once(request);
  // A request can be sent once, so its copy is kept aside.
  const again = request.clone();
  try {
    return await once(request);
  } catch (error) {
    const subject = stepUpOf(error);
    if (!subject || !(await confirmed(subject))) throw error;
  }
  return once(again);
}

export const api = createClient<paths>({
  baseUrl: typeof location === 'undefined' ? 'http://localhost' : location.origin,
  credentials: 'same-origin',
  fetch: patient,
});

/** The body of an answer that did not throw. */
export async function taken<T>(call: Promise<{ data?: T | undefined }>): Promise<T> {
  const { data } = await call;
  if (data === undefined) throw new Unclear('the answer was empty');
  return data;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly next_page_token?: string | null;
}

interface PageQuery {
  readonly page_size: number;
  readonly page_token?: string;
}

const PAGE = 200;

/** Reads a list to its end, or until it has as many as `max`. */
export async function everyPage<T>(
  read: (query: PageQuery) => Promise<Page<T>>,
  max = Infinity,
): Promise<{ items: T[]; isCut: boolean }> {
  const items: T[] = [];
  let token: string | undefined;
  do {
    const page = await read({ page_size: PAGE, ...(token ? { page_token: token } : {}) });
    items.push(...page.items);
    token = page.next_page_token ?? undefined;
  } while (token && items.length < max);
  return { items, isCut: token !== undefined };
}
