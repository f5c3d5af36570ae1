import { Link } from '@tanstack/react-router';
import { LINK } from '@/ui/look';
import { Untrusted } from '@/ui/Untrusted';
import { objectName, targetOf } from './leaf';

/** Object of an audit entry by name, with a link to its page if it has one. */
export function ObjectLink({ object, nameOf }: { object: string; nameOf: (id: string) => string }) {
  const target = targetOf(object);
  const name = <Untrusted text={objectName(object, nameOf)} />;
  if (!target) return <span title={object}>{name}</span>;
  if (target.to === '/locks') {
    const search = { view: 'all', resource: target.resource } as const;
    return (
      <Link to="/locks" search={search} className={LINK}>
        {name}
      </Link>
    );
  }
  if (!('id' in target)) {
    return (
      <Link to={target.to} search={{}} className={LINK} title={object}>
        {name}
      </Link>
    );
  }
  return (
    <Link to={target.to} params={{ id: target.id }} search={{}} className={LINK} title={object}>
      {name}
    </Link>
  );
}
