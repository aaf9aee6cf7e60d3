import type { MemberProfile } from '@/lib/member'

/** Who invited this member. */
export function SponsorCard({ sponsor }: { sponsor: MemberProfile['sponsor'] }) {
  if (!sponsor) return null
  const { display_name: name, username } = sponsor
  return (
    <section aria-labelledby="sponsor" className="card-box">
      <h2 id="sponsor" className="font-sans text-body font-normal tracking-normal text-muted-foreground">
        Your sponsor
      </h2>
      <p className="font-semibold wrap-anywhere">{name ?? username}</p>
      <p className="text-compact wrap-anywhere text-muted-foreground">
        {username ? `@${username}. ` : ''}This cannot be changed later.
      </p>
    </section>
  )
}
