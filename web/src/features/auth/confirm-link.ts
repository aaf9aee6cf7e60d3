import { allPages, paths } from '@/lib/paths'

const kinds = ['signup', 'invite', 'recovery', 'magiclink', 'email_change'] as const

export type LinkKind = (typeof kinds)[number]

/** What a link of an email asks this page to do. */
export interface MailLink {
  kind: LinkKind
  tokenHash: string
  /** Where it leads on this site, with its query; null where only the auth service may lead on. */
  page: string | null
  /** The auth service's own address for this link, which opens it and leads on. */
  serviceAddress: string
  /** The site it leads to, when that is another one. */
  site: string | null
}

function targetOf(text: string, origin: string): URL {
  return new URL(URL.canParse(text, origin) ? text : paths.dashboard, origin)
}

/** Reads the address of the page; null when a part is missing or the kind is unknown. */
export function readMailLink(search: string, origin: string, supabaseUrl: string): MailLink | null {
  const given = new URLSearchParams(search)
  const tokenHash = given.get('token_hash') ?? ''
  const kind = kinds.find((known) => known === given.get('type'))
  if (!tokenHash || !kind) return null
  const redirectTo = given.get('redirect_to') ?? ''
  const target = targetOf(redirectTo || paths.dashboard, origin)
  const isWeb = target.protocol === 'http:' || target.protocol === 'https:'
  // The auth service leads to no address of another kind, but to this site.
  const isOwn = target.origin === origin || !isWeb
  const isPage = allPages.includes(target.pathname) && target.pathname !== paths.confirm
  const query = new URLSearchParams({ token: tokenHash, type: kind, redirect_to: redirectTo })
  return {
    kind,
    tokenHash,
    // An app that asked with PKCE has to exchange a code, which only the auth service makes.
    page:
      isOwn && !tokenHash.startsWith('pkce_')
        ? isPage
          ? target.pathname + target.search
          : paths.dashboard
        : null,
    serviceAddress: `${supabaseUrl}/auth/v1/verify?${query}`,
    site: isOwn ? null : target.host,
  }
}
