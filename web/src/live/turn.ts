/** Between two runs, in ms: twice as long as the last one took, within these. What is dear to read
 *  is read less often, and no page comes near the rate that its reader may ask at. */
const PAUSE_MIN = 250;
const PAUSE_MAX = 5_000;

/** Work that is done by one at a time. Whoever asks while it runs gets one more run after it,
 *  since it may have read before what they know of; however many ask, it is one. */
export class Turn {
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
      // One that broke is told, and keeps nobody waiting who asks later.
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
