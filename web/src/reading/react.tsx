import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { isComplete, Reading, SHOWN_MS, unread } from './reading';

const Current = createContext<Reading | undefined>(undefined);

function isOnScreen(): boolean {
  return document.visibilityState === 'visible';
}

function onVisibility(listener: () => void): () => void {
  document.addEventListener('visibilitychange', listener);
  return () => document.removeEventListener('visibilitychange', listener);
}

export interface Read {
  readonly reading: Reading;
  /** Reason why the content cannot be approved yet; none once it has been read. */
  readonly bar: string | undefined;
  /** Everything was seen, and only time is missing. */
  readonly isMoment: boolean;
}

/** `key` names the content on screen. Another content or revision must be read as well. */
export function useReading(key: string | undefined): Read {
  const [held, setHeld] = useState(() => ({ key, reading: new Reading() }));
  const [read, setRead] = useState<Reading>();
  if (held.key !== key) setHeld({ key, reading: new Reading() });
  const { reading } = held;
  const left = useSyncExternalStore(reading.subscribe, reading.left);
  const isVisible = useSyncExternalStore(onVisibility, isOnScreen);
  const isReady = isComplete(left) && isVisible && key !== undefined;
  useEffect(() => {
    if (!isReady) return undefined;
    const timer = setTimeout(() => setRead(reading), SHOWN_MS);
    return () => {
      clearTimeout(timer);
      setRead(undefined);
    };
  }, [isReady, reading]);
  const isRead = isReady && read === reading;
  return { reading, bar: isRead ? undefined : unread(left), isMoment: isReady && !isRead };
}

interface AreaProps {
  reading: Reading | undefined;
  children: ReactNode;
}

/** Everything inside belongs to one content, or to none. */
export function ReadingArea({ reading, children }: AreaProps) {
  return <Current value={reading}>{children}</Current>;
}

/** Call with true while something of the content is folded away. */
export function useFolded(isFolded: boolean): void {
  const reading = useContext(Current);
  useEffect(() => {
    if (!reading || !isFolded) return undefined;
    const key = reading.add('folded');
    return () => reading.remove(key);
  }, [reading, isFolded]);
}

/** A part of the content. It counts as seen once its end has been on screen. */
export function Part({ children }: { children: ReactNode }) {
  const reading = useContext(Current);
  const end = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const element = end.current;
    if (!reading || !element) return undefined;
    const key = reading.add('unseen');
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) {
        reading.see(key);
        observer.disconnect();
      }
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      reading.remove(key);
    };
  }, [reading]);
  return (
    <>
      {children}
      <span ref={end} data-part-end aria-hidden="true" className="block h-px" />
    </>
  );
}
