import { useMutation } from '@tanstack/react-query'
import { LogOut, ShieldCheck } from 'lucide-react'
import { Badge } from '@/components/status-badge'
import { Button } from '@/components/ui/button'
import type { Administrator } from '@/lib/administrator-session'
import { cn } from '@/lib/cn'
import { toasts } from '@/lib/toast-queue'
import { signOut } from './api'
import { roleWord } from './roles'

interface AdminAccountProps {
  admin: Pick<Administrator, 'email' | 'full_name' | 'role'>
  rail?: 'always' | 'md'
}

/** Who is signed in, and the way out. On a rail only the way out has room. */
export function AdminAccount({ admin, rail }: AdminAccountProps) {
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess: () => toasts.success('Signed out', { description: 'You have been signed out successfully' }),
    onError: () => toasts.error('Error', { description: 'Failed to sign out' }),
    meta: { realm: 'administrator' },
  })
  const hidden = cn(rail === 'always' && 'sr-only', rail === 'md' && 'max-lg:sr-only')
  return (
    <div className="flex flex-col gap-2 border-t pt-4">
      <div className={cn('min-w-0 px-2.5', hidden)}>
        <p className="font-semibold">{admin.full_name ?? 'Admin User'}</p>
        <p className="no-kerning text-compact text-muted-foreground">{admin.email}</p>
        <Badge icon={ShieldCheck} className="mt-1.5">
          {roleWord(admin.role)}
        </Badge>
      </div>
      <Button
        variant="ghost"
        className="justify-start px-2.5"
        title={rail ? 'Sign Out' : undefined}
        busy={leave.isPending && 'Signing out...'}
        onClick={() => leave.mutate()}
      >
        <LogOut aria-hidden />
        <span className={hidden}>Sign Out</span>
      </Button>
    </div>
  )
}
