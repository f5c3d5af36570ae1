// The API client. Types are generated from the OpenAPI description. An error response is thrown as
// `Refused`; a request whose outcome is unknown is thrown as `Unclear`.
import createClient from 'openapi-fetch';
import { confirmed } from '@/confirm/ask';
import { noteSignedOut } from '@/session/expiry';
import { noteServerTime } from '@/time/clock';
import { asProblem, isSignedOut, Refused, stepUpOf, Unclear } from './problem';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** Longer than the server's own timeouts, so that its error response arrives first. */
const PATIENCE_MS = 20_000;

/** Wait before the retry, in which the response that carries the new cookie can arrive. */
const RENEWED_MS = 250;

const SAFE = ['GET', 'HEAD'];

/** Marks a request as sent by this page. A form on another site cannot set this header, and the
 *  cookie alone would not distinguish the two. */
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
    throw new Unclear('no response', { cause });
  }
  noteServerTime(answer.headers.get('date'));
  if (answer.ok) return answer;
  const problem = await asProblem(answer);
  if (!problem) throw new Unclear(`unexpected response with status ${answer.status}`);
  throw new Refused(problem);
}

/** A passkey confirmation in any tab replaces the session cookie. A request that was sent with the
 *  old cookie is retried once before the session counts as expired. */
async function once(request: Request): Promise<Response> {
  // A request can be sent only once, so a copy is kept.
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

/** If the server requires a passkey confirmation, asks for it and sends the same request again. */
export async function patient(request: Request): Promise<Response> {
  if (SAFE.includes(request.method)) return once(request);
  // A request can be sent only once, so a copy is kept.
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

/** Returns the body of a successful response. */
export async function unwrap<T>(call: Promise<{ data?: T | undefined }>): Promise<T> {
  const { data } = await call;
  if (data === undefined) throw new Unclear('empty response');
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

/** Reads all pages of a list, up to `max` items. */
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
