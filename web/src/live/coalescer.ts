/** Bounds of the pause between two runs in ms; the pause is twice the duration of the last run.
 *  Expensive reads run less often, and no page comes near its rate limit. */
const PAUSE_MIN = 250;
const PAUSE_MAX = 5_000;

/** Runs a job one at a time. Requests that arrive during a run are coalesced into one more run
 *  after it, because the current run may have read older data. */
export class Coalescer {
  #state: 'idle' | 'running' | 'again' = 'idle';

  constructor(private readonly work: () => Promise<unknown>) {}

  ask = (): void => {
    if (this.#state === 'idle') void this.#run();
    else this.#state = 'again';
  };

  async #run(): Promise<void> {
    do {
      this.#state = 'running';
      const began = performance.now();
      // An error is reported and does not block later requests.
      await this.work().catch((cause: unknown) => reportError(cause));
      const pause = 2 * (performance.now() - began);
      await new Promise((done) =>
        setTimeout(done, Math.min(Math.max(pause, PAUSE_MIN), PAUSE_MAX)),
      );
    } while (this.#isAgain());
    this.#state = 'idle';
  }

  #isAgain = (): boolean => this.#state === 'again';
}
