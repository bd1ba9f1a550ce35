"""The form of the sign-in page."""

from __future__ import annotations

from django import forms


class SignInForm(forms.Form):
    username = forms.CharField(max_length=150)
    password = forms.CharField(max_length=4096, widget=forms.PasswordInput)
