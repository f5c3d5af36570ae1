// Registry of all keyboard actions, from which the help, the palette and the buttons are generated.
// A key that starts a sequence consumes the next one: `g a` opens the agents and does not approve.
import { matchKeyBindingPress, parseKeybinding } from 'tinykeys';

export type Group = 'Anywhere' | 'List' | 'Review';

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly group: Group;
  /** Alternative shortcuts; the keys of a sequence are separated by a space. */
  readonly keys: readonly string[];
  readonly run: () => void;
  /** Reason why the action is disabled, if it is. */
  readonly disabledReason?: string | undefined;
  /** Whether the action repeats while the key is held down. */
  readonly isRepeated?: boolean;
  /** Left out of the palette, because the action only makes sense on its page. */
  readonly isLocal?: boolean;
}

const SEQUENCE_MS = 1_000;

/** No single key acts for this long after a dialog has closed: letters that were meant for the
 *  dialog must not decide anything. */
export const QUIET_MS = 1_000;

type Press = ReturnType<typeof parseKeybinding>[number];

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Enter and Space belong to the button or link that has the focus. */
function isPressed(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' && event.key !== ' ') return false;
  const target = event.target instanceof Element ? event.target : undefined;
  return Boolean(target?.closest('button, a, summary, [role="menuitem"], [role="tab"]'));
}

function isSingle(press: Press): boolean {
  const [modifiers] = press;
  return modifiers.every((modifier) => modifier === 'Shift');
}

/** Symbols depend on the keyboard layout: with Shift, with AltGr, or alone. */
function isPress(event: KeyboardEvent, press: Press): boolean {
  const [modifiers, key] = press;
  const isSign =
    modifiers.length === 0 && typeof key === 'string' && /^[^\p{L}\p{N}\s]$/u.test(key);
  if (!isSign) return matchKeyBindingPress(event, press);
  const isPlain = !event.ctrlKey && !event.altKey && !event.metaKey;
  return event.key === key && (isPlain || event.getModifierState('AltGraph'));
}

export class Keys {
  #sets = new Map<symbol, () => readonly Action[]>();
  #begun: { press: string; at: number } | undefined;
  #listeners = new Set<() => void>();
  #version = 0;
  #dialogs = 0;
  #closedAt = Number.NEGATIVE_INFINITY;
  areSinglesOn = true;

  add(actions: () => readonly Action[]): () => void {
    const key = Symbol();
    this.#sets.set(key, actions);
    this.#changed();
    return () => {
      this.#sets.delete(key);
      this.#changed();
    };
  }

  /** Newest first: an action of a page takes precedence over one of the shell. */
  all(): Action[] {
    return [...this.#sets.values()].reverse().flatMap((actions) => [...actions()]);
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  version = (): number => this.#version;

  setSingles(isOn: boolean): void {
    this.areSinglesOn = isOn;
    this.#changed();
  }

  /** Called when a dialog opens; the returned function is called when it closes. */
  hold(clock: () => number = Date.now): () => void {
    this.#dialogs += 1;
    this.#begun = undefined;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.#dialogs -= 1;
      this.#closedAt = clock();
    };
  }

  #changed(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  /** Handles a key press and returns whether it had an effect. */
  handle(event: KeyboardEvent, isModal: boolean, now = Date.now()): boolean {
    if (event.defaultPrevented || event.isComposing || isPressed(event)) return false;
    const found = this.#find(event, isModal, now);
    if (!found) return false;
    event.preventDefault();
    // A key that is held down may move the cursor but never decides twice.
    const isHeld = event.repeat && found !== 'begun' && !found.isRepeated;
    if (found !== 'begun' && !found.disabledReason && !isHeld) found.run();
    return true;
  }

  #find(event: KeyboardEvent, isModal: boolean, now: number): Action | 'begun' | undefined {
    const begun = this.#begun && now - this.#begun.at < SEQUENCE_MS ? this.#begun.press : undefined;
    this.#begun = undefined;
    const isOpen = isModal || this.#dialogs > 0;
    const isQuiet = isOpen || now - this.#closedAt < QUIET_MS;
    const isBusy = isQuiet || isTyping(event.target);
    for (const action of this.all()) {
      for (const keys of action.keys) {
        const presses = keys.split(' ');
        const press = parseKeybinding(presses.at(-1)!)[0]!;
        const isHeld = isSingle(press) && (isBusy || !this.areSinglesOn);
        if (isHeld || (isOpen && action.group !== 'Anywhere')) continue;
        const isTurn = presses.length === 1 ? !begun : presses[0] === begun;
        if (isTurn && isPress(event, press)) return action;
      }
    }
    return begun || isBusy || !this.areSinglesOn ? undefined : this.#begin(event, now);
  }

  #begin(event: KeyboardEvent, now: number): 'begun' | undefined {
    const first = this.all()
      .flatMap((action) => action.keys)
      .map((keys) => keys.split(' '))
      .find(([one, two]) => two && isPress(event, parseKeybinding(one!)[0]!));
    if (!first) return undefined;
    this.#begun = { press: first[0]!, at: now };
    return 'begun';
  }
}

export const keys = new Keys();
