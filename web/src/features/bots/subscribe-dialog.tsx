import { z } from '@/lib/zod'
import { ErrorLine } from '@/components/field'
import { PasswordField, TextField, useAppForm } from '@/components/form'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { errorText } from '@/lib/errors'
import { toasts } from '@/lib/toast-queue'
import { useChangeSubscription, type BotName, type Mt5Account } from './api'

const required = (what: string) => z.string().trim().min(1, `Enter the ${what}`)

const schema = z.object({
  server: required('MT5 server').max(128, 'Use at most 128 characters'),
  login: required('MT5 login').max(64, 'Use at most 64 characters'),
  password: z.string().min(1, 'Enter the MT5 password').max(256, 'Use at most 256 characters'),
})

interface SubscribeDialogProps {
  bot: BotName
  onClose: () => void
}

/** The MT5 account a bot trades with. What was typed stays when the server refuses. */
export function SubscribeDialog({ bot, onClose }: SubscribeDialogProps) {
  const form = useAppForm<Mt5Account>(schema, { server: '', login: '', password: '' })
  const change = useChangeSubscription()

  async function subscribe(account: Mt5Account) {
    try {
      await change.mutateAsync({ bot, account })
      toasts.success(`Successfully subscribed to ${bot}. Admin has been notified.`)
      onClose()
    } catch (error) {
      form.setError('root', { message: errorText(error, `Failed to subscribe to ${bot}. Please try again.`) })
    }
  }

  const failure = form.formState.errors.root?.message
  const id = `subscribe-${bot}`
  return (
    <Dialog open onOpenChange={(open) => !open && !change.isPending && onClose()}>
      <DialogContent
        title={`Subscribe to ${bot}`}
        footer={
          <>
            <Button variant="outline" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" form={id} busy={change.isPending && 'Subscribing...'}>
              Subscribe
            </Button>
          </>
        }
      >
        <form
          id={id}
          noValidate
          className="flex flex-col gap-4"
          onSubmit={(event) => void form.handleSubmit(subscribe)(event)}
        >
          <TextField form={form} name="server" label="MT5 server" autoComplete="off" spellCheck={false} />
          <TextField
            form={form}
            name="login"
            label="MT5 login"
            autoComplete="off"
            spellCheck={false}
            inputMode="numeric"
          />
          <PasswordField form={form} name="password" label="MT5 password" autoComplete="off" />
          <p className="text-compact text-muted-foreground">
            Bots can lose money. Your password is encrypted, and erased when you unsubscribe.
          </p>
          <div role="alert">{failure ? <ErrorLine>{failure}</ErrorLine> : null}</div>
        </form>
      </DialogContent>
    </Dialog>
  )
}
