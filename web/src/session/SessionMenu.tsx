import { useQuery } from '@tanstack/react-query';
import { DropdownMenu } from 'radix-ui';
import { toast } from 'sonner';
import { errorMessage } from '@/api/errorMessage';
import { Icon } from '@/ui/Icon';
import { MENU_ITEM } from '@/ui/menu';
import { Named } from '@/ui/Named';
import { sessionQuery } from './queries';
import { signOut, switchTenant } from './wire';

/** Reloads the page, because data of one tenant must never appear in another. */
function leave(sent: Promise<unknown>): void {
  sent.then(
    () => location.assign('/'),
    (error: unknown) => toast.error(errorMessage(error)),
  );
}

/** The part of the user menu that exists only in a session. */
export function SessionMenu() {
  const { data } = useQuery(sessionQuery());
  if (!data) return null;
  const { tenant, tenants } = data;
  return (
    <>
      {tenants.length > 1 && (
        <>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Label className="px-2 py-1 text-meta text-ink-3">Tenant</DropdownMenu.Label>
          <DropdownMenu.RadioGroup
            value={tenant.id}
            onValueChange={(id) => leave(switchTenant(id))}
          >
            {tenants.map(({ id, name }) => (
              <DropdownMenu.RadioItem key={id} value={id} className={MENU_ITEM}>
                <Icon name={id === tenant.id ? 'check' : 'open'} />
                <Named text={name} />
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </>
      )}
      <DropdownMenu.Separator className="my-1 h-px bg-line" />
      <DropdownMenu.Item className={MENU_ITEM} onSelect={() => leave(signOut())}>
        <Icon name="cross" />
        Sign out
      </DropdownMenu.Item>
    </>
  );
}
