import { administratorSession } from './administrator-session'
import { readConfig } from './config'
import { saveText } from './csv'
import { errorText, Refusal } from './errors'
import { narrowing } from './narrowing'
import { toasts } from './toast-queue'

type ExportedList = 'deposits' | 'withdrawals' | 'transactions' | 'audit'

interface Narrowed {
  search: string
  sort: string
  filters: Record<string, string>
}

/** Streams a list into a file and tells how many rows have come. */
async function download(
  list: ExportedList,
  { search, sort, filters }: Narrowed,
  progress: (rows: number) => void,
): Promise<string> {
  const { supabaseUrl, supabaseKey } = readConfig()
  const answer = await fetch(`${supabaseUrl}/functions/v1/admin-export`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      apikey: supabaseKey,
      authorization: `Bearer ${administratorSession.current()?.access_token ?? supabaseKey}`,
    },
    body: JSON.stringify({ list, filters: narrowing({ search, sort, ...filters }) }),
  })
  if (!answer.ok || !answer.body) {
    const said = (await answer.json().catch(() => ({}))) as { error?: string; code?: string }
    throw new Refusal(said.error ?? '', answer.status, said.code ?? '')
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let rows = -1
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value
    rows += part.value.split('\r\n').length - 1
    progress(Math.max(rows, 0))
  }
  return text
}

/** The rows that an administrators' list is narrowed to, all pages of them, as a file. */
export async function exportCsv(
  list: ExportedList,
  narrowed: Narrowed,
  progress: (rows: number) => void,
): Promise<void> {
  try {
    saveText(await download(list, narrowed, progress), `${list}.csv`, 'text/csv')
    toasts.success('File saved')
  } catch (error) {
    console.error(error)
    toasts.error('Error', {
      description: errorText(error, 'The file could not be made.'),
    })
  }
}
