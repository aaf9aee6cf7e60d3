/** What a response says about the session of this page. */
interface SessionWord {
  /** The server's word for why; empty when it gave none. */
  code: string
  /** What the request was made with; null of a refresh, after which the auth client itself drops the session. */
  token: string | null
}

let listener: (word: SessionWord) => void = () => undefined

/** The one way by which it becomes known that the server no longer takes this page's session, whoever asked it. */
export const sessionEnd = {
  listen(next: (word: SessionWord) => void): void {
    listener = next
  },

  report(word: SessionWord): void {
    listener(word)
  },
}

async function codeOf(response: Response): Promise<string> {
  const said: unknown = await response
    .clone()
    .json()
    .catch(() => null)
  const { error_code: code } = { error_code: undefined, ...(said as { error_code?: unknown } | null) }
  const { code: ownCode } = { code: undefined, ...(said as { code?: unknown } | null) }
  return [code, ownCode].find((word) => typeof word === 'string') ?? ''
}

function addressOf(input: RequestInfo | URL): string {
  if (typeof input === 'string') return input
  return input instanceof URL ? input.href : input.url
}

/**
 * `fetch` for the member's session. Of the auth service only a refresh that was rejected says something of it: its
 * other 401s, such as for a code that is lacking, are about the act.
 */
export function watchSession(next: typeof fetch): typeof fetch {
  return async (input, init) => {
    const response = await next(input, init)
    const address = addressOf(input)
    if (!address.includes('/auth/v1/')) {
      const token = new Headers(init?.headers).get('authorization')?.replace(/^Bearer /, '') ?? ''
      if (response.status === 401) sessionEnd.report({ code: await codeOf(response), token })
    } else if (address.includes('grant_type=refresh_token') && [400, 401, 403].includes(response.status)) {
      sessionEnd.report({ code: await codeOf(response), token: null })
    }
    return response
  }
}
