// Every key of the dashboard is an action here, so that the help, the palette and the buttons can
// only tell the truth. A key that begins a sequence swallows the one after it: `g a` goes to the
// agents and approves nothing.
import { matchKeyBindingPress, parseKeybinding } from 'tinykeys';

export type Group = 'Anywhere' | 'List' | 'Review';

export interface Action {
  readonly id: string;
  readonly title: string;
  readonly group: Group;
  /** Each of them alone will do; presses of a sequence have a space between. */
  readonly keys: readonly string[];
  readonly run: () => void;
  /** Why it cannot be done now. */
  readonly barred?: string | undefined;
  /** Goes on while the key is held down. */
  readonly isRepeated?: boolean;
  /** Left out of the palette: of use only where one is. */
  readonly isLocal?: boolean;
}

const SEQUENCE_MS = 1_000;

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

/** Signs are where the layout puts them: with Shift, with AltGr, or alone. */
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

  /** The newest first: a page's own meaning of a key goes before that of the shell. */
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

  #changed(): void {
    this.#version += 1;
    for (const listener of this.#listeners) listener();
  }

  /** Whether the press meant something. */
  handle(event: KeyboardEvent, isModal: boolean, now = Date.now()): boolean {
    if (event.defaultPrevented || event.isComposing || isPressed(event)) return false;
    const found = this.#find(event, isModal, now);
    if (!found) return false;
    event.preventDefault();
    // A key that is held down moves on, but decides nothing twice.
    const isHeld = event.repeat && found !== 'begun' && !found.isRepeated;
    if (found !== 'begun' && !found.barred && !isHeld) found.run();
    return true;
  }

  #find(event: KeyboardEvent, isModal: boolean, now: number): Action | 'begun' | undefined {
    const begun = this.#begun && now - this.#begun.at < SEQUENCE_MS ? this.#begun.press : undefined;
    this.#begun = undefined;
    const isBusy = isModal || isTyping(event.target);
    for (const action of this.all()) {
      for (const keys of action.keys) {
        const presses = keys.split(' ');
        const press = parseKeybinding(presses.at(-1)!)[0]!;
        const isHeld = isSingle(press) && (isBusy || !this.areSinglesOn);
        if (isHeld || (isModal && action.group !== 'Anywhere')) continue;
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
