import { Named } from '@/ui/Named';
import { Ago } from '@/ui/Time';
import type { Version } from './queries';

interface Props {
  version: Pick<Version, 'proposed_by' | 'confirmed_by' | 'published_at'>;
  nameOf: (id: string) => string;
}

/** Says who proposed and who published a version, and when. Setup and a tenant with one admin need
 *  no second person. */
export function Publishers({ version, nameOf }: Props) {
  const { proposed_by: proposer, confirmed_by: second, published_at: at } = version;
  if (!second) {
    return (
      <>
        <Named text={nameOf(proposer)} /> published it without a second admin <Ago at={at} />
      </>
    );
  }
  return (
    <>
      <Named text={nameOf(proposer)} /> proposed it, and <Named text={nameOf(second)} /> published
      it <Ago at={at} />
    </>
  );
}
