interface Policy {
  createScriptURL(s: string): string;
}
let policy: Policy | undefined;

/** trusted makes an address of ours one that a worker may have: the page allows no other script. */
export function trusted(address: string): string {
  const types = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: object): Policy } }).trustedTypes;
  if (!types) return address;
  policy ??= types.createPolicy("burin", { createScriptURL: (s: string) => s });
  return policy.createScriptURL(address);
}
