/**
 * The one shape of "no" in this app. The server's sentence is already meant for the person, so `message`
 * may be shown as it is whenever `status` is a 4xx. Branch on `code`, never on the message.
 */
export class Refusal extends Error {
  override readonly name = 'Refusal'
  constructor(
    message: string,
    /** HTTP status; 0 when no answer arrived. */
    readonly status: number,
    readonly code: string,
    /** What the server added, as text or JSON text; null when it added nothing. */
    readonly details: string | null = null,
  ) {
    super(message)
  }

  /** True when the server answered with a sentence for the person. */
  get speaks(): boolean {
    return this.status >= 400 && this.status < 500
  }
}

/** The server asked back, and its question stands at a field by now: nothing failed, and the form goes on. */
export class AskedBack extends Error {
  override readonly name = 'AskedBack'
}

interface ErrorLike {
  message?: unknown
  code?: unknown
  status?: unknown
  details?: unknown
}

const unanswered = 'No answer arrived.'

/** Codes of the database and of PostgREST, whose sentences are for developers; ours are words. */
const foreign = /^(?:[0-9A-Z]{5}|PGRST[0-9A-Z]+)$/

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/**
 * Turns what supabase-js reports, of PostgREST, auth or storage, into a Refusal. When a database connection breaks,
 * PostgREST says 400 without code and message: nobody knows whether the request was carried out. That is no
 * answer, as with a 503, and the same request may be sent again. What the database says itself is kept in the details.
 */
export function toRefusal(error: unknown, status?: number): Refusal {
  if (error instanceof Refusal) return error
  const given = (typeof error === 'object' && error !== null ? error : {}) as ErrorLike
  const answered =
    status ?? (typeof given.status === 'number' ? given.status : Number(given.status ?? 0) || 0)
  const [message, code, details] = [text(given.message), text(given.code), text(given.details)]
  if (answered === 400 && !message && !code) return new Refusal(unanswered, 503, 'try_again')
  if (foreign.test(code)) return new Refusal('', answered, code, details || message)
  return new Refusal(message || unanswered, answered, code, details || null)
}

/** The data of a supabase-js answer, or a thrown Refusal. */
export function unwrap<T>(answer: { data: T; error: unknown; status?: number }): NonNullable<T> {
  if (answer.error) throw toRefusal(answer.error, answer.status)
  return answer.data as NonNullable<T>
}

/** Said where no response came, and nothing was asked for that could have been done twice. */
export const unreachableText = 'We couldn’t reach the server. Check your connection and try again.'

/** The server's own sentence when it sent one, else the product's text for this moment. */
export function errorText(error: unknown, fallback: string): string {
  return error instanceof Refusal && error.speaks && error.message ? error.message : fallback
}

/** Whether nobody knows what became of a request: no response came, or one of a service that broke on the way. */
export function isUnanswered(error: unknown): boolean {
  return !(error instanceof Refusal) || !error.speaks
}

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return error instanceof Refusal && codes.includes(error.code)
}
