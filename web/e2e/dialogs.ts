// Every dialog of the dashboard, by its source file, with the cases that `dialogs.e2e.ts` opens. A
// unit test compares this list with the code, so a new dialog cannot be left out.
export const DIALOGS = {
  'audit/LeafDrawer.tsx': ['audit entry'],
  'batch/BatchDrawer.tsx': ['batch approve', 'batch reject'],
  'confirm/ConfirmDialog.tsx': ['passkey'],
  'decide/ReasonDialog.tsx': ['reject', 'request changes', 'approve critical'],
  'locks/IncidentDialog.tsx': ['incident lock'],
  'locks/LockDrawer.tsx': ['break lock'],
  'shell/Freeze.tsx': ['freeze'],
  'shell/Help.tsx': ['help'],
  'shell/Palette.tsx': ['palette'],
  'shell/UnfreezeDialog.tsx': ['unfreeze'],
} as const;

export type DialogCase = (typeof DIALOGS)[keyof typeof DIALOGS][number];
