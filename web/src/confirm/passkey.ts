// Access to the browser's passkeys. Bytes are sent as base64url and decoded here.
import type { Schemas } from '@/api/client';

/** The browser or the passkey did not respond; the message says what to do. */
export class NoPasskey extends Error {
  override name = 'NoPasskey';
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (one) => one.charCodeAt(0));
}

export function textOf(bytes: ArrayBuffer): string {
  const plain = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

const named = ({ id }: Schemas['CredentialNamed']): PublicKeyCredentialDescriptor => ({
  type: 'public-key',
  id: bytesOf(id),
});

const WHY: Record<string, string> = {
  NotAllowedError: 'No passkey responded. Try again and unlock it when your browser asks.',
  InvalidStateError: 'This passkey is already registered.',
  SecurityError: 'Passkeys do not work at this address. Open the page at its usual host name.',
};

async function answered(asked: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  if (!('credentials' in navigator)) throw new NoPasskey('This browser does not support passkeys.');
  try {
    const credential = await asked();
    if (credential) return credential as PublicKeyCredential;
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    throw new NoPasskey(WHY[name] ?? 'The passkey did not respond. Try again.', { cause: error });
  }
  throw new NoPasskey('The passkey did not respond. Try again.');
}

export async function createPasskey(
  options: Schemas['CreationOptions'],
): Promise<Schemas['PasskeyAnswer']> {
  const publicKey = {
    ...options,
    challenge: bytesOf(options.challenge),
    user: { ...options.user, id: bytesOf(options.user.id) },
    excludeCredentials: options.excludeCredentials.map(named),
  } as PublicKeyCredentialCreationOptions;
  const { response } = await answered(() => navigator.credentials.create({ publicKey }));
  const made = response as AuthenticatorAttestationResponse;
  const key = made.getPublicKey();
  if (!key) throw new NoPasskey('This type of passkey is not supported.');
  return {
    client_data: textOf(made.clientDataJSON),
    authenticator_data: textOf(made.getAuthenticatorData()),
    public_key: textOf(key),
    algorithm: made.getPublicKeyAlgorithm(),
  };
}

export async function askPasskey(
  options: Schemas['RequestOptions'],
): Promise<Schemas['StepUpAnswer']> {
  const publicKey = {
    ...options,
    challenge: bytesOf(options.challenge),
    allowCredentials: options.allowCredentials.map(named),
  } as PublicKeyCredentialRequestOptions;
  const { rawId, response } = await answered(() => navigator.credentials.get({ publicKey }));
  const given = response as AuthenticatorAssertionResponse;
  return {
    credential: textOf(rawId),
    client_data: textOf(given.clientDataJSON),
    authenticator_data: textOf(given.authenticatorData),
    signature: textOf(given.signature),
  };
}
