import { Download } from 'lucide-react'
import { useState } from 'react'
import { ErrorLine } from '@/components/field'
import { Button } from '@/components/ui/button'
import { saveText } from '@/lib/csv'

interface CsvButtonProps {
  label: string
  /** Name of the file, without its ending. */
  file: string
  /** Collects the rows, saying how many there are so far, and makes the text of the file of them. */
  make: (onProgress: (rows: number) => void) => Promise<string>
}

/** Saves rows as a file, with its progress, and says when that failed. */
export function CsvButton({ label, file, make }: CsvButtonProps) {
  const [rows, setRows] = useState<number | null>(null)
  const [failed, setFailed] = useState(false)

  async function run() {
    setFailed(false)
    setRows(0)
    try {
      saveText(await make(setRows), `${file}.csv`, 'text/csv')
    } catch (error) {
      console.error(error)
      setFailed(true)
    } finally {
      setRows(null)
    }
  }

  return (
    <div data-print="no">
      <Button variant="outline" busy={rows !== null && `${rows} rows`} onClick={() => void run()}>
        <Download aria-hidden />
        {label}
      </Button>
      <div role="alert">
        {failed ? <ErrorLine className="mt-1">The export failed. Please try again.</ErrorLine> : null}
      </div>
    </div>
  )
}
