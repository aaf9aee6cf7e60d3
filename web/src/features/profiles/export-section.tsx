import { Download } from 'lucide-react'
import { useState } from 'react'
import { ErrorLine } from '@/components/field'
import { Button } from '@/components/ui/button'
import { saveText } from '@/lib/csv'
import { collectMyData } from './api'

function save(data: unknown): void {
  const name = `my-data-${new Date().toISOString().slice(0, 10)}.json`
  saveText(JSON.stringify(data, null, 2), name, 'application/json')
}

/** The member's own data as one JSON file, with progress while a long history is read. */
export function ExportSection() {
  const [rows, setRows] = useState<number | null>(null)
  const [failed, setFailed] = useState(false)

  async function run() {
    setFailed(false)
    setRows(0)
    try {
      save(await collectMyData(setRows))
    } catch (error) {
      console.error(error)
      setFailed(true)
    } finally {
      setRows(null)
    }
  }

  return (
    <div className="flex flex-col items-start gap-3">
      <p className="text-muted-foreground">
        Your account, every transaction and your newest notices, as a JSON file.
      </p>
      <Button variant="outline" busy={rows !== null && `${rows} rows`} onClick={() => void run()}>
        <Download aria-hidden />
        Export my data
      </Button>
      <div role="alert">
        {failed ? <ErrorLine>The export failed. Nothing was saved. Please try again.</ErrorLine> : null}
      </div>
    </div>
  )
}
