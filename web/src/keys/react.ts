import { useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import { type Action, keys } from './registry';

const SETTING = 'ade.single-keys';

/** Registers these actions while the component is mounted. */
export function useActions(actions: readonly Action[]): void {
  const latest = useRef(actions);
  useLayoutEffect(() => {
    latest.current = actions;
  });
  useEffect(() => keys.add(() => latest.current), []);
}

/** Menus are included: a letter pressed in one of them selects an entry. */
const MODAL = '[role="dialog"], [role="alertdialog"], [role="menu"]';

function isModal(): boolean {
  return document.querySelector(MODAL) !== null;
}

/** Keeps single keys from acting while a dialog is open, and for a moment afterwards. */
export function useKeysHeld(isOpen: boolean): void {
  useLayoutEffect(() => (isOpen ? keys.hold() : undefined), [isOpen]);
}

/** Fallback while the code of a dialog is loading: keys pressed now are meant for the dialog. */
export function KeysHeld(): null {
  useKeysHeld(true);
  return null;
}

/** Listens to the keyboard; used once per page. */
export function useKeyboard(): void {
  useEffect(() => {
    keys.setSingles(localStorage.getItem(SETTING) !== 'off');
    const listen = (event: KeyboardEvent) => void keys.handle(event, isModal());
    addEventListener('keydown', listen);
    return () => removeEventListener('keydown', listen);
  }, []);
}

export function useKnownActions(): Action[] {
  useSyncExternalStore(keys.subscribe, keys.version);
  return keys.all();
}

export function useSingleKeys(): [boolean, (isOn: boolean) => void] {
  const isOn = useSyncExternalStore(keys.subscribe, () => keys.areSinglesOn);
  const set = (next: boolean) => {
    localStorage.setItem(SETTING, next ? 'on' : 'off');
    keys.setSingles(next);
  };
  return [isOn, set];
}
