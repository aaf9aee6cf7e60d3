import { useState } from 'react'
import { Button } from '@/components/ui/button'
import { CloseDialog } from './close-dialog'

/** What closing the account does, before anything is asked. */
export function CloseSection() {
  const [open, setOpen] = useState(false)
  return (
    <div className="flex flex-col items-start gap-3">
      <p className="text-muted-foreground">
        Your username, name, email and wallet address are removed, pending requests are cancelled, and you can
        no longer sign in. Deposits, withdrawals and bonuses stay on record, and so does your place in the
        team. This cannot be undone.
      </p>
      <Button variant="outline" onClick={() => setOpen(true)}>
        Close my account
      </Button>
      {open ? <CloseDialog onClose={() => setOpen(false)} /> : null}
    </div>
  )
}
