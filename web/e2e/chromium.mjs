// Which browser: the one without a window does the same with half the work.
import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export const CHROMIUM = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
if (!CHROMIUM) throw new Error('no chromium: install it, or say where it is with CHROMIUM');
