import { useSyncExternalStore } from 'react';

function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => matchMedia(query).matches,
  );
}

export const useIsPhone = () => useMedia('(max-width: 719.98px)');
/** Whether the window is wide enough for a panel beside the list. */
export const useIsWide = () => useMedia('(min-width: 1080px)');
