import * as z from 'zod/mini';
import type { components } from './schema';

type Code = components['schemas']['Code'];

/** The fields of an error response that the dashboard uses. */
const Problem = z.looseObject({
  code: z.string(),
  title: z.string(),
  status: z.number(),
  detail: z.string(),
  retriable: z.boolean(),
  request_id: z.string(),
  errors: z.optional(
    z.array(
      z.looseObject({
        line: z.nullish(z.number()),
        column: z.nullish(z.number()),
        path: z.nullish(z.string()),
        message: z.string(),
      }),
    ),
  ),
  next_action: z.looseObject({
    message: z.string(),
    command: z.nullish(z.string()),
  }),
});

const StepUp = z.object({
  has_passkey: z.literal(true),
  step_up: z.object({
    purpose: z.string(),
    about: z.array(z.object({ id: z.string(), digest: z.optional(z.string()) })),
  }),
});

export type Problem = z.infer<typeof Problem>;

/** The server rejected the request; nothing was changed. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
    this.name = 'Refused';
  }

  is(...codes: Code[]): boolean {
    return (codes as string[]).includes(this.problem.code);
  }
}

/** The outcome is unknown: the server may or may not have processed the request. */
export class Unclear extends Error {
  override name = 'Unclear';
}

/** Error codes after which the request may still have been processed. */
const OPEN_ENDED: Code[] = ['outcome_unknown', 'timed_out', 'idempotency_in_flight', 'internal'];

export function isUnclear(error: unknown): boolean {
  if (error instanceof Unclear) return true;
  return error instanceof Refused && error.is(...OPEN_ENDED);
}

/** Returns what has to be confirmed with a passkey, if the request was rejected for that reason. */
export function stepUpOf(error: unknown): components['schemas']['StepUpSubject'] | undefined {
  if (!(error instanceof Refused) || !error.is('step_up_required')) return undefined;
  const read = z.safeParse(StepUp, error.problem);
  return read.success ? (read.data.step_up as components['schemas']['StepUpSubject']) : undefined;
}

export function isSignedOut(error: unknown): boolean {
  return error instanceof Refused && error.problem.status === 401;
}

export async function asProblem(answer: Response): Promise<Problem | undefined> {
  if (!answer.headers.get('content-type')?.includes('json')) return undefined;
  const read = z.safeParse(Problem, await answer.json().catch(() => undefined));
  return read.success ? read.data : undefined;
}
