import { useQuery } from '@tanstack/react-query'
import { useRef, useState, type ComponentProps } from 'react'
import { ErrorLine } from '@/components/field'
import { Facts } from '@/components/review-dialog'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { errorText, unreachableText } from '@/lib/errors'
import { linkOffer, type LinkOffer } from '@/lib/link-session'
import { memberSession } from '@/lib/session'
import { useStore } from '@/lib/store'
import { accountQuery } from '@/lib/use-account'

interface Named {
  displayName: string | null
  username: string | null
  email: string | null
}

/** Names both accounts so that they differ: anybody may choose another's display name. */
function nameOf(account: Named, other: Named | null): string {
  const { displayName, username, email } = account
  const same = displayName?.trim().toLowerCase() === other?.displayName?.trim().toLowerCase()
  return (same ? null : displayName) ?? username ?? email ?? 'another account'
}

function Whole({ displayName, username, email }: Named) {
  const [first, ...more] = [displayName, username, email].filter((part) => part !== null)
  return (
    <span className="flex flex-col wrap-anywhere">
      <span className="font-semibold">{first}</span>
      {more.map((part) => (
        <span key={part} className="text-compact text-muted-foreground">
          {part}
        </span>
      ))}
    </span>
  )
}

/** Who is signed in now, also after a change in another tab; undefined until the name is known. */
function useHolder(): { userId: string | null; account: Named | null } | undefined {
  const { status, userId, email } = useStore(memberSession)
  const named = status === 'member'
  const { data, isLoading } = useQuery({ ...accountQuery(userId ?? ''), enabled: named })
  if (status === 'loading' || isLoading) return undefined
  if (!userId) return { userId, account: null }
  return { userId, account: { displayName: null, username: null, ...data, email } }
}

interface LinkQuestionProps {
  offer: LinkOffer
  /** The link's account is signed in. */
  onContinue: () => void
}

/** Asks by name before the session of a link replaces another account's. */
export default function LinkQuestion({ offer, onContinue }: LinkQuestionProps) {
  const holder = useHolder()
  const stay = useRef<HTMLButtonElement>(null)
  const [busy, setBusy] = useState(false)
  const [problem, setProblem] = useState<string | null>(null)
  if (!holder) return null
  const theirs = nameOf(offer.account, holder.account)
  const mine = holder.account && nameOf(holder.account, offer.account)

  function decline(): void {
    linkOffer.set(null)
    offer.decline().catch(console.error)
  }

  async function proceed(asked: string | null): Promise<void> {
    setBusy(true)
    setProblem(null)
    try {
      if (!(await offer.accept(asked))) return
      linkOffer.set(null)
      onContinue()
    } catch (error) {
      console.error(error)
      setProblem(errorText(error, unreachableText))
    } finally {
      setBusy(false)
    }
  }

  return (
    <Dialog open>
      <DialogContent
        role="alertdialog"
        title={mine ? `You are signed in as ${mine}. Continue as ${theirs}?` : `Continue as ${theirs}?`}
        description={
          mine
            ? 'The link you opened signs in to another account. Nothing has changed so far. If you did not ask for this link, stay.'
            : 'The link you opened signs in to this account. If you did not ask for it, do not continue.'
        }
        closable={false}
        onOpenAutoFocus={(event) => {
          event.preventDefault()
          stay.current?.focus()
        }}
        onCloseAutoFocus={(event) => {
          event.preventDefault()
          document.querySelector('h1')?.focus()
        }}
        onEscapeKeyDown={(event) => event.preventDefault()}
        onInteractOutside={(event) => event.preventDefault()}
        footer={
          <>
            <Choice
              variant="outline"
              busy={busy && 'Signing in...'}
              onClick={() => void proceed(holder.userId)}
            >
              Continue as {theirs}
            </Choice>
            <Choice ref={stay} onClick={() => !busy && decline()}>
              {mine ? `Stay as ${mine}` : 'Stay signed out'}
            </Choice>
          </>
        }
      >
        <Facts
          facts={[
            ...(holder.account ? [{ label: 'Signed in', value: <Whole {...holder.account} /> }] : []),
            { label: 'The link', value: <Whole {...offer.account} /> },
          ]}
        />
        <div role="alert">{problem ? <ErrorLine className="mt-3">{problem}</ErrorLine> : null}</div>
      </DialogContent>
    </Dialog>
  )
}

/** As high as a long name needs; the two share a phone's width. */
function Choice(props: ComponentProps<typeof Button>) {
  return (
    <Button
      className="h-auto min-h-11 shrink basis-0 py-2 wrap-anywhere whitespace-normal md:basis-auto"
      {...props}
    />
  )
}
