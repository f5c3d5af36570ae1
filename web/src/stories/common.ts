import type { ReactNode } from 'react';

export interface Story {
  readonly name: string;
  readonly show: () => ReactNode;
}

const NAMES: Record<string, string> = {
  usr_me: 'Priya Nair',
  usr_marc: 'Marc Dubois',
  usr_lena: 'Lena Koch',
  usr_tom: 'Tom Weber',
  usr_ana: 'Ana Ruiz',
  agt_support: 'support-agent',
};
export const nameOf = (id: string) => NAMES[id] ?? id;
export const nothing = () => undefined;

export const me = {
  id: 'usr_me',
  name: 'Priya Nair',
  roles: ['reviewer'],
  scopes: ['read', 'decide'],
  isAgent: false,
  isInSetup: false,
} as const;
