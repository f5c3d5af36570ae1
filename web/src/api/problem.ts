import * as z from 'zod/mini';
import type { components } from './schema';

type Code = components['schemas']['Code'];

/** As much as the dashboard needs of what the server says when it refuses. */
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
    says: z.string(),
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

/** The server has understood, and did nothing. */
export class Refused extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title);
    this.name = 'Refused';
  }

  is(...codes: Code[]): boolean {
    return (codes as string[]).includes(this.problem.code);
  }
}

/** Nobody knows whether the server has done it. */
export class Unclear extends Error {
  override name = 'Unclear';
}

/** Refusals after which it may have been done all the same. */
const OPEN_ENDED: Code[] = ['outcome_unknown', 'timed_out', 'idempotency_in_flight', 'internal'];

export function isUnclear(error: unknown): boolean {
  if (error instanceof Unclear) return true;
  return error instanceof Refused && error.is(...OPEN_ENDED);
}

/** What a passkey of the reader could confirm, if that is why it was refused. */
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
