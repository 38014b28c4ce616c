"""The polynomial of erfc in the second level.

Written by accuracy/derive_long_coefficients.py, which says how it is derived; change that, not this.
"""

from __future__ import annotations

__all__ = ["ERFC", "ERFC_SHORT"]

#: In t, lowest power first: sums of two float64, and from number 36 on one.
ERFC = (
    (float.fromhex("0x1.81ca5c6ac35d4p-1"), float.fromhex("-0x1.25db6c4d3fa88p-56")),
    (float.fromhex("-0x1.88f7ef80ff627p-3"), float.fromhex("0x1.2996b4cea9e3ap-57")),
    (float.fromhex("0x1.ab6160c8dc482p-4"), float.fromhex("-0x1.fef13e1075dedp-58")),
    (float.fromhex("-0x1.12e8a665fb2fcp-5"), float.fromhex("-0x1.75d808da20c83p-59")),
    (float.fromhex("-0x1.2c41863363f3dp-7"), float.fromhex("-0x1.b84fb7c77c655p-61")),
    (float.fromhex("0x1.9b7c27f7691ddp-6"), float.fromhex("0x1.737f945105af3p-60")),
    (float.fromhex("-0x1.82f2f2981f4ebp-6"), float.fromhex("-0x1.de0905cef0c11p-60")),
    (float.fromhex("0x1.f4f0daa1e4739p-7"), float.fromhex("-0x1.29ac8f33fc637p-61")),
    (float.fromhex("-0x1.e0b28826685b8p-8"), float.fromhex("0x1.7a9d07dae486cp-62")),
    (float.fromhex("0x1.452c0540ae10ap-9"), float.fromhex("0x1.f59575bde9eecp-67")),
    (float.fromhex("-0x1.c8efa1ece1b0ep-12"), float.fromhex("-0x1.7f3c5df5effc8p-68")),
    (float.fromhex("-0x1.452bbdc28c07ep-14"), float.fromhex("0x1.dfd789b351a58p-68")),
    (float.fromhex("0x1.39f84139b3215p-14"), float.fromhex("0x1.6f204b215a717p-68")),
    (float.fromhex("-0x1.e874bb6a54422p-17"), float.fromhex("0x1.be1a0d19009aep-71")),
    (float.fromhex("-0x1.511df519906b1p-18"), float.fromhex("-0x1.e65424edac69dp-73")),
    (float.fromhex("0x1.970c315a3eb42p-19"), float.fromhex("-0x1.ff101fe49f89cp-73")),
    (float.fromhex("0x1.51ca324932fe9p-25"), float.fromhex("0x1.aea4664953212p-79")),
    (float.fromhex("-0x1.c54724a0e38c1p-22"), float.fromhex("0x1.a7b286000c4d0p-77")),
    (float.fromhex("0x1.dd6baff65b2d6p-25"), float.fromhex("0x1.f25d931a40ce5p-80")),
    (float.fromhex("0x1.dd38095e9b5c9p-25"), float.fromhex("0x1.953cdb9ca6c93p-79")),
    (float.fromhex("-0x1.d098e747e17a0p-27"), float.fromhex("0x1.d14df74aaeddep-81")),
    (float.fromhex("-0x1.0bcc49ca3c67cp-27"), float.fromhex("0x1.1ced28e918b6ep-81")),
    (float.fromhex("0x1.59b214bea6ed1p-29"), float.fromhex("-0x1.356ae878f04d7p-83")),
    (float.fromhex("0x1.54011dcc76285p-30"), float.fromhex("0x1.80469588cc0a8p-85")),
    (float.fromhex("-0x1.d49bb8822d1a7p-32"), float.fromhex("0x1.7723b9d92ec5bp-86")),
    (float.fromhex("-0x1.ec8b6a47d57c8p-33"), float.fromhex("-0x1.01968d3d22a7bp-87")),
    (float.fromhex("0x1.2541a69f14a3cp-34"), float.fromhex("0x1.def22177d7a83p-88")),
    (float.fromhex("0x1.890e624306203p-35"), float.fromhex("0x1.4a3a5220549d5p-92")),
    (float.fromhex("-0x1.38f83eb006564p-37"), float.fromhex("-0x1.9a28c885d9b9ap-92")),
    (float.fromhex("-0x1.4762b78518927p-37"), float.fromhex("-0x1.b3e9a6237d420p-91")),
    (float.fromhex("0x1.79c8209f185adp-41"), float.fromhex("0x1.e50580526b620p-95")),
    (float.fromhex("0x1.0d42912715e47p-39"), float.fromhex("-0x1.0da6dad3c1ed7p-94")),
    (float.fromhex("0x1.3f7c346c8cd57p-43"), float.fromhex("-0x1.d3f92dc8243cdp-97")),
    (float.fromhex("-0x1.9b9b4ed4eded9p-42"), float.fromhex("0x1.8e4f3170064fbp-96")),
    (float.fromhex("-0x1.a12460be6b91dp-44"), float.fromhex("-0x1.c14027561d271p-98")),
    (float.fromhex("0x1.088852e812a8ap-44"), float.fromhex("-0x1.4a750ee9cdb02p-100")),
    (float.fromhex("0x1.17be620cd1e41p-45"),),
    (float.fromhex("-0x1.9d70d0bb3244ep-48"),),
    (float.fromhex("-0x1.125b52fe26d11p-47"),),
    (float.fromhex("-0x1.531a992e1f303p-51"),),
    (float.fromhex("0x1.6d2a847f0f7afp-50"),),
    (float.fromhex("0x1.cadc864190f4ep-52"),),
    (float.fromhex("-0x1.7c7a72a6ef03bp-54"),),
    (float.fromhex("-0x1.2aa3a379844f1p-54"),),
    (float.fromhex("-0x1.70205229d72c4p-57"),),
)
ERFC_SHORT = 36
