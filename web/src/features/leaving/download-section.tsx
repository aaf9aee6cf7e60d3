import { Download } from 'lucide-react'
import { useState } from 'react'
import { ErrorLine } from '@/components/field'
import { KnownUsername, PasswordField, useAppForm, ErrorSummary } from '@/components/form'
import { Button } from '@/components/ui/button'
import { errorText, hasCode } from '@/lib/errors'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { toasts } from '@/lib/toast-queue'
import { useDownloadData } from './api'
import { passwordSchema, type PasswordValues } from './password-schema'

/** Everything that is stored about the account, as one file, after the password. */
export function DownloadSection() {
  const [asked, setAsked] = useState(false)
  return (
    <div className="flex flex-col items-start gap-3">
      <p className="text-muted-foreground">
        Everything stored about your account, as JSON and as CSV tables in one ZIP file.
      </p>
      {asked ? (
        <DownloadForm onDone={() => setAsked(false)} />
      ) : (
        <Button variant="outline" onClick={() => setAsked(true)}>
          <Download aria-hidden />
          Export my data
        </Button>
      )}
    </div>
  )
}

function DownloadForm({ onDone }: { onDone: () => void }) {
  const { email } = useStore(memberSession)
  const form = useAppForm<PasswordValues>(passwordSchema, { password: '' })
  const download = useDownloadData()

  async function run({ password }: PasswordValues) {
    try {
      await download.mutateAsync(password)
      toasts.success('Your data was downloaded')
      onDone()
    } catch (error) {
      if (hasCode(error, 'invalid_credentials'))
        form.setError('password', { message: 'This password is not right' }, { shouldFocus: true })
      else
        form.setError('root', {
          message: errorText(error, 'The export failed. Nothing was saved. Please try again.'),
        })
    }
  }

  const failure = form.formState.errors.root?.message
  return (
    <form
      noValidate
      aria-label="Export my data"
      className="flex w-full flex-col gap-4"
      onSubmit={(event) => void form.handleSubmit(run)(event)}
    >
      <ErrorSummary form={form} />
      <KnownUsername value={email ?? ''} />
      <PasswordField form={form} name="password" label="Your password" autoComplete="current-password" />
      <div role="alert" className="empty:hidden">
        {failure ? <ErrorLine>{failure}</ErrorLine> : null}
      </div>
      <div className="flex flex-wrap gap-3">
        <Button type="submit" variant="outline" busy={download.isPending && 'Preparing...'}>
          <Download aria-hidden />
          Download
        </Button>
        <Button variant="ghost" onClick={onDone}>
          Cancel
        </Button>
      </div>
    </form>
  )
}
