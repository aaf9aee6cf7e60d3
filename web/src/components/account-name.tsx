import type { Account } from '@/lib/account'

/** Display name and username: the first is what people know, only the second is unique. */
export function AccountName({ displayName, username }: Account) {
  return (
    <span className="wrap-anywhere">
      <span className="font-semibold">{displayName ?? username}</span>
      {displayName && username ? <span className="text-muted-foreground"> ({username})</span> : null}
    </span>
  )
}

/** Whose money a form is about, in sight of the button that sends it. */
export function ActsFor({ account, children }: { account: Account; children: string }) {
  return (
    <p className="rounded-control border border-input bg-muted px-3 py-2.5">
      {children} <AccountName {...account} />
    </p>
  )
}
