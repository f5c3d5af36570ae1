// Selects the browser; the headless shell is preferred, because it uses fewer resources.
import { existsSync } from 'node:fs';

const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];

export const CHROMIUM = process.env.CHROMIUM ?? PLACES.find((place) => existsSync(place));
if (!CHROMIUM) throw new Error('Chromium not found: install it, or set CHROMIUM to its path');
