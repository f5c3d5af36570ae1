// Drives the reducer: one WebSocket per tab, opened with a ticket and resumed by event number;
// polls while there is no socket.
import { api, unwrap } from '@/api/client';
import { isSignedOut } from '@/api/problem';
import { read } from './message';
import {
  type Effect,
  FIRST,
  type Input,
  isPolling,
  type Live,
  pollIn,
  retryIn,
  step,
} from './reducer';

type Listener = () => void;

/** Interval for asking the server about its event lag while the socket is open. */
const LAG_LOOK_MS = 15_000;

export class Connection {
  #live: Live = FIRST;
  #holds = new Set<string>();
  #isHeld = false;
  #socket: WebSocket | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #look: ReturnType<typeof setTimeout> | undefined;
  #failedLooks = 0;
  #isStopped = true;
  #listeners = new Set<Listener>();
  retryAt: number | undefined;

  constructor(private readonly onEffects: (effects: Effect[]) => void) {}

  get live(): Live {
    return this.#live;
  }

  get isHeld(): boolean {
    return this.#isHeld;
  }

  subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** While at least one holder is active, lists keep their order and the status shows "Paused". */
  hold(who: string, isOn: boolean): void {
    if (isOn) this.#holds.add(who);
    else this.#holds.delete(who);
    this.#isHeld = this.#holds.size > 0;
    this.#tell();
  }

  start(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    addEventListener('online', this.#onNetwork);
    addEventListener('offline', this.#onNetwork);
    this.#onNetwork();
    void this.#open();
    this.#scheduleLook();
  }

  stop(): void {
    this.#isStopped = true;
    removeEventListener('online', this.#onNetwork);
    removeEventListener('offline', this.#onNetwork);
    clearTimeout(this.#retry);
    clearTimeout(this.#look);
    this.#socket?.close();
    this.#socket = undefined;
  }

  /** Reconnects immediately, on request or when the network is back. */
  reconnect = (): void => {
    clearTimeout(this.#retry);
    if (!this.#socket && !this.#isStopped) void this.#open();
    clearTimeout(this.#look);
    void this.#lookNow();
  };

  #take(input: Input): void {
    const { live, effects } = step(this.#live, input);
    this.#live = live;
    if (effects.length > 0) this.onEffects(effects);
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }

  #onNetwork = (): void => {
    const isOnline = navigator.onLine;
    if (isOnline !== this.#live.isOnline) {
      this.#take({ kind: 'network', isOnline, now: Date.now() });
      if (isOnline) this.reconnect();
    }
  };

  async #open(): Promise<void> {
    this.#take({ kind: 'opening' });
    let ticket: string;
    try {
      ({ ticket } = await unwrap(api.POST('/v1/ws/tickets')));
    } catch (error) {
      return this.#closed(isSignedOut(error) ? 4401 : 1006);
    }
    if (this.#isStopped) return;
    const query = new URLSearchParams({ ticket });
    if (this.#live.seq !== undefined) query.set('after', String(this.#live.seq));
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const socket = new WebSocket(`${scheme}://${location.host}/v1/ws?${query}`);
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#onMessage(String(data));
    socket.onclose = ({ code }) => {
      if (this.#socket === socket) this.#closed(code);
    };
  }

  #onMessage(text: string): void {
    const message = read(text);
    if (message) this.#take({ ...message, now: Date.now() });
  }

  #closed(code: number): void {
    this.#socket = undefined;
    if (this.#isStopped) return;
    this.#take({ kind: 'closed', code, now: Date.now() });
    if (this.#live.link === 'refused') return;
    const delay = retryIn(this.#live.failures, Math.random());
    this.retryAt = Date.now() + delay;
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#open(), delay);
    // Polls at once: either the data is fresh, or the page has to show that it is offline.
    clearTimeout(this.#look);
    void this.#lookNow();
  }

  #scheduleLook(): void {
    if (this.#isStopped) return;
    const isOpen = this.#live.link === 'open';
    const wait = isOpen ? LAG_LOOK_MS : pollIn(this.#failedLooks, document.hidden, Math.random());
    clearTimeout(this.#look);
    this.#look = setTimeout(() => void this.#lookNow(), wait);
  }

  async #lookNow(): Promise<void> {
    if (this.#isStopped) return;
    let isAnswered = true;
    let lagMs = 0;
    try {
      const status = await unwrap(api.GET('/v1/status'));
      lagMs = (status.events?.lag_seconds ?? 0) * 1_000;
    } catch {
      isAnswered = false;
    }
    const now = Date.now();
    this.#failedLooks = isAnswered ? 0 : this.#failedLooks + 1;
    this.#take({ kind: 'polled', ok: isAnswered, lagMs, now });
    if (isAnswered && isPolling(this.#live, now)) this.onEffects([{ do: 'refetch' }]);
    this.#scheduleLook();
  }
}
