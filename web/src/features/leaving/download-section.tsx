import { Download } from 'lucide-react'
import { useState } from 'react'
import { ErrorLine } from '@/components/field'
import { Button } from '@/components/ui/button'
import { errorText } from '@/lib/errors'
import { isCancelled } from '@/lib/proof'
import { toasts } from '@/lib/toast-queue'
import { useDownloadData } from './api'

/** Everything that is stored about the account, as one file. */
export function DownloadSection() {
  const download = useDownloadData()
  const [problem, setProblem] = useState<string | null>(null)

  async function run() {
    setProblem(null)
    try {
      await download.mutateAsync()
      toasts.success('Your data was downloaded')
    } catch (error) {
      if (!isCancelled(error))
        setProblem(errorText(error, 'The export failed. Nothing was saved. Please try again.'))
    }
  }

  return (
    <div className="flex flex-col items-start gap-3">
      <p className="text-muted-foreground">
        Everything stored about your account, as JSON and as CSV tables in one ZIP file.
      </p>
      <div role="alert" className="empty:hidden">
        {problem ? <ErrorLine>{problem}</ErrorLine> : null}
      </div>
      <Button variant="outline" busy={download.isPending && 'Preparing...'} onClick={() => void run()}>
        <Download aria-hidden />
        Export my data
      </Button>
    </div>
  )
}
