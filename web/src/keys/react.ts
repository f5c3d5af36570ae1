import { useEffect, useLayoutEffect, useRef, useSyncExternalStore } from 'react';
import { type Action, keys } from './registry';

const SETTING = 'ade.single-keys';

/** Makes these actions known for as long as the component is there. */
export function useActions(actions: readonly Action[]): void {
  const latest = useRef(actions);
  useLayoutEffect(() => {
    latest.current = actions;
  });
  useEffect(() => keys.add(() => latest.current), []);
}

function isModal(): boolean {
  return document.querySelector('[role="dialog"]') !== null;
}

/** Listens to the keyboard, once for the whole page. */
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
